//! Numbers of JSON as what they are, not as the nearest float.

use std::cmp::Ordering;

use serde_json::Number;

/// From here on floats are whole, and farther from zero than any 64-bit integer.
const HUGE: f64 = 85_070_591_730_234_615_865_843_651_857_942_052_864.0; // 2^126

/// A number in the form in which it compares exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ExactNumber {
    Whole(i128),
    /// A fraction, or beyond [`HUGE`].
    Float(f64),
}

impl ExactNumber {
    pub(super) fn of(number: &Number) -> Self {
        if let Some(whole) = number.as_i128() {
            return Self::Whole(whole);
        }
        // Every number is one of the three, unless another crate asks for other numbers.
        let float = number.as_f64().unwrap_or(f64::INFINITY);
        if float.fract() == 0.0 && float.abs() < HUGE {
            Self::Whole(truncated(float))
        } else {
            Self::Float(float)
        }
    }

    /// Tells whether it is an integer as schemas mean it: 1.0 is one.
    pub(super) fn is_integer(self) -> bool {
        match self {
            Self::Whole(_) => true,
            Self::Float(float) => float.fract() == 0.0,
        }
    }
}

pub(super) fn compare(left: &Number, right: &Number) -> Ordering {
    match (ExactNumber::of(left), ExactNumber::of(right)) {
        (ExactNumber::Whole(left), ExactNumber::Whole(right)) => left.cmp(&right),
        (ExactNumber::Float(left), ExactNumber::Float(right)) => left.total_cmp(&right),
        (ExactNumber::Whole(left), ExactNumber::Float(right)) => whole_with_float(left, right),
        (ExactNumber::Float(left), ExactNumber::Whole(right)) => {
            whole_with_float(right, left).reverse()
        }
    }
}

/// They are never equal: the float would be a whole number otherwise.
fn whole_with_float(whole: i128, float: f64) -> Ordering {
    let below = if float.abs() >= HUGE {
        float > 0.0
    } else {
        whole <= truncated(float.floor())
    };
    if below {
        Ordering::Less
    } else {
        Ordering::Greater
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "called with whole numbers below HUGE"
)]
fn truncated(float: f64) -> i128 {
    float as i128
}

/// Tells whether a number is a multiple, in decimals as they are written: 0.3 is one of 0.1.
pub(super) fn is_multiple(number: &Number, of: &Number) -> bool {
    let (Some(number), Some(of)) = (DecimalNumber::of(number), DecimalNumber::of(of)) else {
        return false;
    };
    if number.digits == 0 || of.digits == 0 {
        return number.digits == 0;
    }
    let shift = number.exponent.abs_diff(of.exponent);
    if number.exponent >= of.exponent {
        let scale = power_of_ten(shift, of.digits);
        ((number.digits % of.digits) * scale).is_multiple_of(of.digits)
    } else {
        let divisor = 10_u128
            .checked_pow(shift)
            .and_then(|scale| scale.checked_mul(of.digits));
        divisor.is_some_and(|divisor| number.digits.is_multiple_of(divisor))
    }
}

/// `digits · 10^exponent`, the sign left out. The digits are fewer than 64 bits.
#[derive(Debug, Clone, Copy)]
struct DecimalNumber {
    digits: u128,
    exponent: i32,
}

impl DecimalNumber {
    fn of(number: &Number) -> Option<Self> {
        if let Some(whole) = number.as_i128() {
            return Some(Self {
                digits: whole.unsigned_abs(),
                exponent: 0,
            });
        }
        // The shortest decimal that is read as this float: what was most likely written.
        let written = format!("{:e}", number.as_f64()?.abs());
        let (digits, exponent) = written.split_once('e')?;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let decimals = i32::try_from(fraction.len()).ok()?;
        Some(Self {
            digits: format!("{whole}{fraction}").parse().ok()?,
            exponent: exponent.parse::<i32>().ok()? - decimals,
        })
    }
}

/// Returns `10^exponent`, modulo a number below 2^64.
fn power_of_ten(exponent: u32, modulus: u128) -> u128 {
    (0..exponent).fold(1 % modulus, |power, _| power * 10 % modulus)
}
