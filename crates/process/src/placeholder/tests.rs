use std::fs;

use super::{PlaceholderShare, holds_repository, is_placeholder, metadata};

#[test]
fn it_stays_as_long_as_anybody_needs_it() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(".git");
    let first = PlaceholderShare::hold(&path).unwrap();
    let second = PlaceholderShare::hold(&path).unwrap();
    assert!(is_placeholder(&path));
    assert!(!holds_repository(place.path()));
    assert!(metadata(&path).is_err());
    first.give_back();
    assert!(path.exists());
    second.give_back();
    assert!(!path.exists());
}

#[test]
fn what_a_killed_process_left_behind_goes_with_the_next() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(".git");
    drop(PlaceholderShare::hold(&path).unwrap());
    assert!(is_placeholder(&path));
    PlaceholderShare::hold(&path).unwrap().give_back();
    assert!(!path.exists());
}

#[test]
fn what_somebody_else_made_is_never_taken_for_one() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(".git");
    fs::create_dir(&path).unwrap();
    assert!(PlaceholderShare::hold(&path).is_err());
    assert!(holds_repository(place.path()));
    fs::remove_dir(&path).unwrap();
    fs::write(&path, "gitdir: elsewhere").unwrap();
    assert!(PlaceholderShare::hold(&path).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "gitdir: elsewhere");
}

#[test]
fn a_repository_that_its_user_makes_meanwhile_stays() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(".git");
    let held = PlaceholderShare::hold(&path).unwrap();
    fs::write(path.join("HEAD"), "ref: refs/heads/main").unwrap();
    assert!(holds_repository(place.path()));
    held.give_back();
    assert!(path.join("HEAD").exists());
    fs::remove_file(path.join("HEAD")).unwrap();
    assert!(!is_placeholder(&path), "it is theirs now");
}
