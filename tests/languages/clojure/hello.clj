(let [total (reduce + (map parse-long (line-seq (java.io.BufferedReader. *in*))))]
  (println (str "Σ = " total " ✓")))
