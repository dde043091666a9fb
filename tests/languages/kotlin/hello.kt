fun main() {
    val total = generateSequence(::readLine).sumBy { it.toInt() }
    println("Σ = $total ✓")
}
