Copies its input and ends the line
,[.[-],]++++++++++.
