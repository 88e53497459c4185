//! Marks generated code with what it was generated from.

/// Returns a short mark that differs for different texts (FNV-1a).
pub fn of(text: &str) -> String {
    let mark = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |mark, byte| {
        (mark ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("({mark:016x})")
}
