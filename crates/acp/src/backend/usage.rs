//! What a program says that its prompts took, in our words.
//!
//! Programs tell sums over their whole session, so each answer counts with what came on top. One
//! that tells less than before began to count anew.

use agent_client_protocol_schema::v1::Usage;
use troupe_protocol::usage::TokenUsage;

/// The last sum that a program told.
#[derive(Debug, Default)]
pub(super) struct UsageCounter {
    told: TokenUsage,
}

impl UsageCounter {
    /// Returns what was used since the last answer.
    pub(super) fn read(&mut self, usage: Option<&Usage>) -> TokenUsage {
        let Some(usage) = usage else {
            return TokenUsage::default();
        };
        let sum = to_token_usage(usage);
        let before = std::mem::replace(&mut self.told, sum);
        if sum.total_tokens < before.total_tokens {
            return sum;
        }
        TokenUsage {
            input_tokens: sum.input_tokens.saturating_sub(before.input_tokens),
            cached_input_tokens: sum
                .cached_input_tokens
                .saturating_sub(before.cached_input_tokens),
            cache_write_input_tokens: sum
                .cache_write_input_tokens
                .saturating_sub(before.cache_write_input_tokens),
            output_tokens: sum.output_tokens.saturating_sub(before.output_tokens),
            reasoning_output_tokens: sum
                .reasoning_output_tokens
                .saturating_sub(before.reasoning_output_tokens),
            total_tokens: sum.total_tokens - before.total_tokens,
        }
    }
}

/// Our input includes what came from a cache, and our output what was thought. Programs may count
/// these apart; then only all of them together are the total.
fn to_token_usage(usage: &Usage) -> TokenUsage {
    let cached = usage.cached_read_tokens.unwrap_or(0);
    let written = usage.cached_write_tokens.unwrap_or(0);
    let thought = usage.thought_tokens.unwrap_or(0);
    let said = usage.input_tokens.saturating_add(usage.output_tokens);
    let (more_input, more_output) = if usage.total_tokens > said {
        (cached.saturating_add(written), thought)
    } else {
        (0, 0)
    };
    TokenUsage {
        input_tokens: usage.input_tokens.saturating_add(more_input),
        cached_input_tokens: cached,
        cache_write_input_tokens: written,
        output_tokens: usage.output_tokens.saturating_add(more_output),
        reasoning_output_tokens: thought,
        total_tokens: usage.total_tokens,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::UsageCounter;

    /// Reads answers one after the other; each as input, cached, output, reasoning and total.
    fn check(answers: &[Value], expected: &Expect) {
        let mut meter = UsageCounter::default();
        let lines = answers.iter().map(|answer| {
            let usage = serde_json::from_value(answer.clone()).expect("it is a usage");
            let used = meter.read(Some(&usage));
            format!(
                "{} ({}) {} ({}) = {}\n",
                used.input_tokens,
                used.cached_input_tokens,
                used.output_tokens,
                used.reasoning_output_tokens,
                used.total_tokens
            )
        });
        expected.assert_eq(&lines.collect::<Vec<_>>().concat());
    }

    #[test]
    fn sums_are_told_apart() {
        check(
            &[
                json!({"inputTokens": 100, "outputTokens": 10, "totalTokens": 110}),
                json!({"inputTokens": 250, "outputTokens": 15, "totalTokens": 265}),
            ],
            &expect![[r#"
                100 (0) 10 (0) = 110
                150 (0) 5 (0) = 155
            "#]],
        );
    }

    #[test]
    fn a_program_that_counts_anew_is_believed() {
        check(
            &[
                json!({"inputTokens": 100, "outputTokens": 10, "totalTokens": 110}),
                json!({"inputTokens": 20, "outputTokens": 2, "totalTokens": 22}),
            ],
            &expect![[r#"
                100 (0) 10 (0) = 110
                20 (0) 2 (0) = 22
            "#]],
        );
    }

    #[test]
    fn caches_and_thoughts_are_part_of_the_whole_or_beside_it() {
        check(
            &[json!({
                "inputTokens": 10, "cachedReadTokens": 80, "cachedWriteTokens": 10,
                "outputTokens": 5, "thoughtTokens": 15, "totalTokens": 120,
            })],
            &expect![[r#"
                100 (80) 20 (15) = 120
            "#]],
        );
        check(
            &[json!({
                "inputTokens": 100, "cachedReadTokens": 80,
                "outputTokens": 20, "thoughtTokens": 15, "totalTokens": 120,
            })],
            &expect![[r#"
                100 (80) 20 (15) = 120
            "#]],
        );
    }
}
