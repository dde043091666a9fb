Fiber.abort("no good")
