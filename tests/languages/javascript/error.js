null.f();
