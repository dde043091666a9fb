interface Failure {
  code: number;
}

function fail(failure: Failure): never {
  // The stack names the lines of this file, not those of the JavaScript that was made from it.
  process.exitCode = failure.code;
  console.error(new Error("no").stack);
  process.exit();
}

fail({ code: 7 });
