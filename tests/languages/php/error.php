<?php
echo intdiv(1, 0);
