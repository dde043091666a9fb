let x: Int = "text"
