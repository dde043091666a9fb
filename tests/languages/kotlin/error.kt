fun main(arguments: Array<String>) {
    println(1 / arguments.size)
}
