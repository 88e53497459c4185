//! Turns rules into a program for the kernel's filter machine.
//!
//! The kernel runs the program at each call, unless it has found at the start, by walking through
//! the program for every call number, that it always allows that one. Both take less time the
//! fewer comparisons there are; so the rules stand in groups, and a call's group is found first.

use libc::sock_filter;

use super::seccomp::{ArgumentBits, CallCondition, SeccompRules, errno};

/// Calls per group. Jumps over a group must fit in 255 instructions, of which a call needs few.
const GROUP_CALLS: usize = 10;

#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xc000_00b7;

/// Call numbers from here on belong to the x32 interface, whose numbers no rule names.
const X32_CALLS: u32 = 0x4000_0000;

/// Offsets in `struct seccomp_data`.
const CALL_NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const IF_ANY_BIT: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const ANSWER: u32 = libc::BPF_RET | libc::BPF_K;

pub(super) fn assemble(rules: SeccompRules) -> Vec<sock_filter> {
    let mut program = FilterProgram(Vec::new());
    program.load(ARCHITECTURE);
    program.branch(IF_EQUAL, AUDIT_ARCH, 1, 0);
    program.answer(libc::SECCOMP_RET_KILL_PROCESS);
    program.load(CALL_NUMBER);
    program.branch(IF_AT_LEAST, X32_CALLS, 0, 1);
    program.answer(errno(libc::ENOSYS));
    let rules: Vec<_> = rules.0.into_iter().collect();
    for group in rules.chunks(GROUP_CALLS) {
        let mut body = FilterProgram(Vec::new());
        for (call, cases) in group {
            for (when, answer) in cases {
                body.rule(*call, *when, *answer);
            }
        }
        body.answer(libc::SECCOMP_RET_ALLOW);
        let length = u8::try_from(body.0.len()).expect("a group is shorter than a jump can be");
        let last = group.last().map_or(0, |(call, _)| *call);
        program.branch(IF_AT_LEAST, last + 1, length, 0);
        program.0.append(&mut body.0);
    }
    program.answer(libc::SECCOMP_RET_ALLOW);
    program.0
}

/// Instructions; each rule expects the call number loaded and leaves it so.
struct FilterProgram(Vec<sock_filter>);

impl FilterProgram {
    fn rule(&mut self, call: u32, when: CallCondition, answer: u32) {
        let (argument, test, value, (then, otherwise)) = match when {
            CallCondition::Always => {
                self.branch(IF_EQUAL, call, 0, 1);
                return self.answer(answer);
            }
            CallCondition::Equals { argument, value } => (argument, IF_EQUAL, value, (0, 1)),
            CallCondition::Differs { argument, value } => (argument, IF_EQUAL, value, (1, 0)),
            CallCondition::HasAny { argument, bits } => (argument, IF_ANY_BIT, bits, (0, 1)),
            CallCondition::HasAnyOfBoth(first, second) => {
                return self.rule_of_both(call, first, second, answer);
            }
        };
        self.branch(IF_EQUAL, call, 0, 4);
        self.load(ARGUMENTS + 8 * u32::from(argument));
        self.branch(test, value, then, otherwise);
        self.answer(answer);
        self.load(CALL_NUMBER);
    }

    fn rule_of_both(&mut self, call: u32, first: ArgumentBits, second: ArgumentBits, answer: u32) {
        self.branch(IF_EQUAL, call, 0, 6);
        self.load(ARGUMENTS + 8 * u32::from(first.argument));
        self.branch(IF_ANY_BIT, first.bits, 0, 3);
        self.load(ARGUMENTS + 8 * u32::from(second.argument));
        self.branch(IF_ANY_BIT, second.bits, 0, 1);
        self.answer(answer);
        self.load(CALL_NUMBER);
    }

    fn load(&mut self, offset: u32) {
        self.push(LOAD, 0, 0, offset);
    }

    /// Skips `then` instructions if the test holds, `otherwise` if it does not.
    fn branch(&mut self, test: u32, value: u32, then: u8, otherwise: u8) {
        self.push(test, then, otherwise, value);
    }

    fn answer(&mut self, value: u32) {
        self.push(ANSWER, 0, 0, value);
    }

    fn push(&mut self, code: u32, jt: u8, jf: u8, k: u32) {
        let code = u16::try_from(code).expect("instruction codes have 16 bits");
        self.0.push(sock_filter { code, jt, jf, k });
    }
}
