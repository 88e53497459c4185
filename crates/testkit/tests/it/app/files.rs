//! Files of the machine, through the server.

use serde_json::json;
use troupe_testkit::Stage;

use super::client::{Client, app};

#[tokio::test]
async fn a_client_writes_finds_and_removes_files() {
    let stage = Stage::new("[[scene]]\n").await;
    let mut client = Client::ready(&app(&stage)).await;
    let directory = stage.cwd().join("one/two");
    let file = directory.join("hello.txt");
    let made = json!({"path": directory});
    client.call("fs/createDirectory", made).await.unwrap();
    let text = json!({"path": file, "dataBase64": "aGVsbG8="});
    client.call("fs/writeFile", text).await.unwrap();
    assert_eq!(stage.read("one/two/hello.txt"), "hello");
    let read = client.call("fs/readFile", json!({"path": file})).await;
    assert_eq!(read.unwrap(), json!({"dataBase64": "aGVsbG8="}));
    let about = client.call("fs/getMetadata", json!({"path": file})).await;
    assert_eq!(about.unwrap()["isFile"], true);
    let listed = json!({"path": directory});
    let listed = client.call("fs/readDirectory", listed).await.unwrap();
    let entry = json!({"fileName": "hello.txt", "isDirectory": false, "isFile": true});
    assert_eq!(listed["entries"], json!([entry]));

    let bad = json!({"path": file, "dataBase64": "?"});
    let bad = client.call("fs/writeFile", bad).await.unwrap_err();
    assert_eq!(bad["code"], -32602);
    let relative = client.call("fs/readFile", json!({"path": "hello.txt"}));
    assert_eq!(relative.await.unwrap_err()["code"], -32600);
    let endless = client.call("fs/readFile", json!({"path": "/dev/zero"}));
    assert_eq!(
        endless.await.unwrap_err()["message"],
        "/dev/zero is not a file"
    );

    let one = json!({"path": stage.cwd().join("one")});
    client.call("fs/remove", one.clone()).await.unwrap();
    assert!(!stage.cwd().join("one").exists());
    let mut strict = one;
    strict["force"] = json!(false);
    assert!(client.call("fs/remove", strict).await.is_err());
    client.leave().await;
}

#[tokio::test]
async fn a_client_copies_files_and_directories() {
    let stage = Stage::new("[[scene]]\n").await;
    let mut client = Client::ready(&app(&stage)).await;
    let at = |name: &str| stage.cwd().join(name);
    std::fs::create_dir_all(at("from/deep")).unwrap();
    std::fs::write(at("from/deep/a"), "a").unwrap();
    std::os::unix::fs::symlink("deep/a", at("from/link")).unwrap();
    let copy = |from: &str, to: &str| json!({"sourcePath": at(from), "destinationPath": at(to)});
    client
        .call("fs/copy", copy("from/deep/a", "b"))
        .await
        .unwrap();
    assert_eq!(stage.read("b"), "a");

    let mut whole = copy("from", "to");
    let flat = client.call("fs/copy", whole.clone()).await.unwrap_err();
    let flat = flat["message"].as_str().unwrap();
    assert!(flat.contains("is a directory; set recursive"), "{flat}");
    whole["recursive"] = json!(true);
    client.call("fs/copy", whole.clone()).await.unwrap();
    client.call("fs/copy", whole).await.unwrap();
    assert_eq!(stage.read("to/deep/a"), "a");
    let link = std::fs::read_link(at("to/link")).unwrap();
    assert_eq!(link, std::path::Path::new("deep/a"));

    let mut into = copy("from", "from/deep/again");
    into["recursive"] = json!(true);
    let into = client.call("fs/copy", into).await.unwrap_err();
    let into = into["message"].as_str().unwrap();
    assert!(into.contains("cannot be copied into itself"), "{into}");
    client.leave().await;
}

#[tokio::test]
async fn a_client_is_told_what_changes() {
    let stage = Stage::new("[[scene]]\n").await;
    let mut client = Client::ready(&app(&stage)).await;
    let at = |name: &str| stage.cwd().join(name);
    stage.write("one", "1");
    stage.write("other", "1");
    let file = json!({"watchId": "file", "path": at("one")});
    let watched = client.call("fs/watch", file.clone()).await.unwrap();
    assert_eq!(watched["path"], json!(at("one").canonicalize().unwrap()));
    let again = client.call("fs/watch", file).await.unwrap_err();
    assert_eq!(again["message"], "the watchId \"file\" is in use");

    stage.write("other", "2");
    // Programs replace files rather than write into them.
    stage.write("new", "2");
    std::fs::rename(at("new"), at("one")).unwrap();
    let told = client.told("fs/changed").await;
    let paths = json!([at("one").canonicalize().unwrap()]);
    assert_eq!(told["changedPaths"], paths, "the other is none of it");
    let end = json!({"watchId": "file"});
    client.call("fs/unwatch", end).await.unwrap();

    let directory = json!({"watchId": "all", "path": stage.cwd()});
    client.call("fs/watch", directory).await.unwrap();
    std::fs::remove_file(at("other")).unwrap();
    let told = client.told("fs/changed").await;
    assert_eq!(told["watchId"], "all");
    let gone = stage.cwd().canonicalize().unwrap().join("other");
    assert_eq!(told["changedPaths"], json!([gone]));
    let nowhere = json!({"watchId": "x", "path": at("nowhere")});
    let nowhere = client.call("fs/watch", nowhere).await.unwrap_err();
    let nowhere = nowhere["message"].as_str().unwrap();
    assert!(nowhere.starts_with("cannot watch "), "{nowhere}");
    client.leave().await;
}
