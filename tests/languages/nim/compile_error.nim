let x: int = "text"
