//! Time, as it is written on lines. It comes in from outside so that tests print the same
//! bytes each run.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;

/// Milliseconds since 1970, UTC. Shown and read as RFC 3339 with three digits: the form of
/// the `timestamp` of every line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    pub(crate) fn to_jiff(self) -> Timestamp {
        Timestamp::from_millisecond(self.0).unwrap_or(if self.0 < 0 {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        })
    }
}

impl fmt::Display for UnixMillis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.to_jiff())
    }
}

impl FromStr for UnixMillis {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.parse::<Timestamp>()?.as_millisecond()))
    }
}

#[derive(Clone)]
pub struct StoreClock(Arc<dyn Fn() -> UnixMillis + Send + Sync>);

impl StoreClock {
    pub fn new(now: impl Fn() -> UnixMillis + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub fn system() -> Self {
        Self::new(|| UnixMillis(Timestamp::now().as_millisecond()))
    }

    pub fn now(&self) -> UnixMillis {
        (self.0)()
    }
}

impl Default for StoreClock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for StoreClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
