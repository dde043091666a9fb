pub fn main() void {
    const x: u8 = "text";
    _ = x;
}
