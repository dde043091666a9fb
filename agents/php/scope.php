<?php
// SPDX-License-Identifier: Apache-2.0
// The scope of the guest's code: the global one, so that `global $x` in its functions means what it
// means in a script. This file is included there and keeps no variable of its own.

while (Glovebox\Session::next()) {
    try {
        $__glovebox = eval(Glovebox\Session::code());
        Glovebox\Session::settle($__glovebox, null);
    } catch (Throwable $__glovebox) {
        Glovebox\Session::settle(null, $__glovebox);
    }
    unset($__glovebox);
}
