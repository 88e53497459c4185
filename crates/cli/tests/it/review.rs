//! `troupe review`.

use serde_json::json;

use crate::machine::Machine;

fn playing(answer: &str) -> Machine {
    Machine::playing(&format!(
        "[[scene]]\nwhen = \"not committed\"\n[[scene.turn]]\nsteps = [{{ say = '''{answer}''' }}]\n\
         [[scene.turn]]\nsteps = [{{ say = '''{answer}''' }}]\n"
    ))
}

fn found() -> String {
    json!({
        "findings": [{
            "title": "[P1] The loop never ends",
            "body": "`i` is not counted.",
            "confidence_score": 0.9,
            "priority": 1,
            "code_location": {
                "absolute_file_path": "/elsewhere/loop.sh",
                "line_range": {"start": 3, "end": 5},
            },
        }],
        "overall_correctness": "patch is incorrect",
        "overall_explanation": "One loop is endless.",
        "overall_confidence_score": 0.9,
    })
    .to_string()
}

#[test]
fn findings_for_people_and_programs() {
    let run = playing(&found()).run(&["review"]).succeeded();
    assert_eq!(
        run.stdout,
        "[P1] The loop never ends\n  /elsewhere/loop.sh:3-5\n  `i` is not counted.\n\n\
         1 finding; patch is incorrect; One loop is endless.\n"
    );
    assert!(run.stderr.contains("agent /root/review"), "{}", run.stderr);

    let run = playing(&found())
        .run(&["exec", "review", "--uncommitted", "--json"])
        .succeeded();
    let [output] = run.lines().try_into().unwrap();
    assert_eq!(output["findings"][0]["priority"], 1);
}

#[test]
fn a_reviewer_without_a_result_is_a_failure() {
    let run = playing("I like it.").run(&["review"]).failed_with(1);
    assert_eq!(run.stdout, "");
    assert!(
        run.stderr.contains("the reviewer came to no result"),
        "{}",
        run.stderr
    );
}
