//! Licence expressions: `MIT OR (Apache-2.0 WITH LLVM-exception AND ISC)`.

/// Tells whether what is allowed suffices to use a crate with this expression. An
/// expression that cannot be understood does not.
pub fn allows(expression: &str, allowed: impl Fn(&str) -> bool) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        // The old way to write OR.
        .replace('/', " OR ");
    let mut words = Words {
        words: spaced.split_whitespace().collect(),
        at: 0,
    };
    let answer = words.any_of(&allowed);
    words.at == words.words.len() && answer == Some(true)
}

struct Words<'a> {
    words: Vec<&'a str>,
    at: usize,
}

impl<'a> Words<'a> {
    fn any_of(&mut self, allowed: &impl Fn(&str) -> bool) -> Option<bool> {
        let mut any = self.all_of(allowed)?;
        while self.take("OR") {
            any |= self.all_of(allowed)?;
        }
        Some(any)
    }

    fn all_of(&mut self, allowed: &impl Fn(&str) -> bool) -> Option<bool> {
        let mut all = self.one(allowed)?;
        while self.take("AND") {
            all &= self.one(allowed)?;
        }
        Some(all)
    }

    fn one(&mut self, allowed: &impl Fn(&str) -> bool) -> Option<bool> {
        if self.take("(") {
            let inner = self.any_of(allowed)?;
            return self.take(")").then_some(inner);
        }
        let licence = self.next()?;
        if self.take("WITH") {
            // An exception only ever adds permissions.
            self.next()?;
        }
        Some(allowed(licence))
    }

    fn next(&mut self) -> Option<&'a str> {
        let word = self.words.get(self.at).copied()?;
        self.at += 1;
        Some(word)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.words.get(self.at) == Some(&word);
        self.at += usize::from(found);
        found
    }
}

#[test]
fn expressions() {
    let check = |expression: &str, expected: bool| {
        let allowed = |licence: &str| ["MIT", "ISC"].contains(&licence);
        assert_eq!(allows(expression, allowed), expected, "{expression}");
    };
    check("MIT", true);
    check("GPL-3.0", false);
    check("MIT OR GPL-3.0", true);
    check("GPL-3.0/MIT", true);
    check("MIT AND GPL-3.0", false);
    check("MIT AND ISC", true);
    check("GPL-3.0 OR MIT AND ISC", true);
    check("(MIT OR GPL-3.0) AND ISC", true);
    check("(MIT OR ISC) AND GPL-3.0", false);
    check("MIT WITH some-exception", true);
    check("", false);
    check("MIT OR", false);
    check("(MIT", false);
    check("MIT ISC", false);
}
