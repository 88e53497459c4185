use super::*;
use crate::undo::listing::KnownDirectory;

fn file(path: &str, content: FileContent) -> KnownFile {
    KnownFile {
        path: path.as_bytes().to_vec(),
        stamp: FileStamp {
            mode: 0o100_644,
            inode: 7,
            size: 3,
            modified_ns: 5,
            changed_ns: -5,
        },
        content,
        is_settled: path.len().is_multiple_of(2),
    }
}

fn directory(path: &str, ignore_file: Option<FileStamp>) -> KnownDirectory {
    KnownDirectory {
        path: path.as_bytes().to_vec(),
        stamp: file(path, FileContent::Repository).stamp,
        is_settled: ignore_file.is_some(),
        ignore_file,
    }
}

fn manifest() -> TreeManifest {
    let stamp = file("a", FileContent::Repository).stamp;
    TreeManifest {
        listing: Some(FileListing {
            basis: Some([9; 32]),
            directories: vec![directory("", Some(stamp)), directory("sub", None)],
            ignored: vec![b"target".to_vec()],
        }),
        files: vec![
            file("a", FileContent::Object(ObjectId::Sha1([1; 20]))),
            file("b", FileContent::Kept([2; 32])),
            file("cc", FileContent::Link("elsewhere".into())),
            file("d", FileContent::Repository),
            file("e", FileContent::Unkept(UnkeptReason::Special)),
            file("f", FileContent::Unkept(UnkeptReason::TooLarge)),
        ],
    }
}

#[test]
fn a_list_is_read_as_it_was_written_and_nothing_else_is() {
    let bytes = manifest().to_bytes();
    assert_eq!(TreeManifest::from_bytes(&bytes), Some(manifest()));
    for end in 0..bytes.len() {
        let cut = TreeManifest::from_bytes(&bytes[..end]);
        assert!(cut.is_none_or(|it| it.files.len() < manifest().files.len()));
    }
    assert_eq!(TreeManifest::from_bytes(b"something else"), None);
}

#[test]
fn what_is_not_the_same_is_told_with_what_it_was() {
    let before = manifest();
    let mut after = manifest();
    after.files[0].content = FileContent::Kept([3; 32]);
    // A large file is known by its times alone.
    after.files[5].stamp.modified_ns += 1;
    after.files[1].stamp.modified_ns += 1;
    after.files.remove(2);
    after
        .files
        .insert(3, file("dd", FileContent::Kept([4; 32])));
    let found: Vec<_> = before
        .differences(&after)
        .map(|(path, was)| (path.to_vec(), was.cloned()))
        .collect();
    let expected = vec![
        (b"a".to_vec(), Some(before.files[0].clone())),
        (b"cc".to_vec(), Some(before.files[2].clone())),
        (b"dd".to_vec(), None),
        (b"f".to_vec(), Some(before.files[5].clone())),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_file_that_a_later_look_had_room_for_has_not_changed() {
    let before = TreeManifest {
        listing: None,
        files: vec![file("a", FileContent::Unkept(UnkeptReason::TooMany))],
    };
    let mut after = TreeManifest {
        listing: None,
        files: vec![file("a", FileContent::Kept([1; 32]))],
    };
    assert_eq!(before.differences(&after).count(), 0);
    after.files[0].stamp.changed_ns += 1;
    assert_eq!(before.differences(&after).count(), 1);
}

/// Both ways of a later look come to the same.
#[test]
fn what_has_changed_makes_the_later_list_of_the_earlier_one() {
    let mut list = manifest();
    let mut later = manifest();
    later.files[0].content = FileContent::Kept([3; 32]);
    later.files[1].stamp.modified_ns += 1;
    later.files[5].stamp.modified_ns += 1;
    later.files.remove(2);
    let new = file("dd", FileContent::Kept([4; 32]));
    later.files.insert(3, new.clone());
    later.listing = None;
    let (kept, touched) = (later.files[0].clone(), later.files[1].clone());
    let changes = ManifestChanges {
        // One of them turned out to be as it was.
        files: vec![
            touched,
            list.files[3].clone(),
            new,
            kept,
            later.files[5].clone(),
        ],
        gone: vec![2],
        listing: None,
    };
    let found = list.differing(&changes);
    assert_eq!(found, list.differences(&later).collect::<Vec<_>>());
    assert!(list.update(changes));
    assert_eq!(list, later);
    let again = ManifestChanges {
        files: vec![list.files[0].clone()],
        gone: Vec::new(),
        listing: None,
    };
    assert!(!list.update(again));
    assert_eq!(list, later);
}
