use std::io::{self, BufRead};

fn main() {
    let total: i64 = io::stdin()
        .lock()
        .lines()
        .map(|line| line.unwrap().parse::<i64>().unwrap())
        .sum();
    println!("Σ = {total} ✓");
}
