<?php
$total = array_sum(array_map("intval", file("php://stdin")));
echo "Σ = $total ✓\n";
