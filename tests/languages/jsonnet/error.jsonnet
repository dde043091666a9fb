error 'no good'
