//! What `docs/screenplay.md` shows is what the program plays.

use crate::machine::Machine;

/// The blocks of the page: the screenplay, and the configuration that plays it.
fn examples() -> Vec<String> {
    let page = include_str!("../../../../docs/screenplay.md");
    let blocks = page.split("```toml\n").skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn the_examples_of_the_page_play() {
    let [screenplay, configuration] = examples().try_into().unwrap();
    let stage = Machine::playing(&screenplay);
    for wire in ["responses", "chat"] {
        let machine = Machine::bare();
        let configuration = configuration
            .replace("http://127.0.0.1:PORT/v1", stage.base_url())
            .replace("wire_api = \"responses\"", &format!("wire_api = {wire:?}"));
        machine.write("home/config.toml", &configuration);
        let file = machine.write("project/src/lib.rs", "1\n");
        let run = machine.run(&["exec", "Fix the test."]).succeeded();
        assert!(run.stdout.starts_with("Fixed."), "{wire}: {}", run.stdout);
        assert_eq!(std::fs::read_to_string(file).unwrap(), "2\n", "{wire}");
    }
}
