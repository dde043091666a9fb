object Hello {
  def main(arguments: Array[String]): Unit = {
    val total = scala.io.Source.stdin.getLines.map(_.toInt).sum
    println(s"Σ = $total ✓")
  }
}
