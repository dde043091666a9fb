object Failing {
  def main(arguments: Array[String]): Unit = println(1 / arguments.length)
}
