pub fn main() void {
    var buffer: [256]u8 = undefined;
    const linux = @import("std").os.linux;
    const length = linux.read(0, &buffer, buffer.len);
    var total: u32 = 0;
    for (buffer[0..length]) |byte| {
        if (byte >= '0' and byte <= '9') total += byte - '0';
    }
    var text = "Σ = 00 ✓\n".*;
    text[5] += @intCast(total / 10);
    text[6] += @intCast(total % 10);
    _ = linux.write(1, &text, text.len);
}
