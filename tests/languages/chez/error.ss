(error #f "no good")
