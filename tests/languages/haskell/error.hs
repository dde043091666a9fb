main :: IO ()
main = print (1 `div` (0 :: Int))
