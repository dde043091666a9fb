fn main() {
    let _x: i32 = "text";
}
