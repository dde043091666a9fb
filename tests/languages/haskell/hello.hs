module Main where

main :: IO ()
main = do
  values <- fmap (map read . lines) getContents
  putStrLn ("Σ = " ++ show (sum values :: Int) ++ " ✓")
