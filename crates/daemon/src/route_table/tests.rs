use std::collections::BTreeSet;

use super::*;

#[test]
fn every_route_has_a_name_of_its_own_and_a_sentence() {
    let table = route_table();
    let mut operations = BTreeSet::new();
    let mut places = BTreeSet::new();
    for route in &table {
        let head = &route.head;
        assert!(operations.insert(head.operation), "{head:?}");
        assert!(
            places.insert((head.method.to_string(), head.path)),
            "{head:?}"
        );
        assert!(head.summary.ends_with('.'), "{head:?}");
    }
}

#[test]
fn nothing_is_open_but_what_tells_nothing() {
    let table = route_table();
    let open = table.iter().filter(|route| route.head.scope == Open);
    let paths: Vec<&str> = open.map(|route| route.head.path).collect();
    assert_eq!(paths, ["/health", "/version", "/openapi.json"]);
}

#[test]
fn what_changes_something_is_never_a_get() {
    for route in route_table() {
        let only_reads = matches!(route.head.scope, Open | Read);
        assert!(only_reads || route.head.method != Method::GET, "{route:?}");
    }
}
