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
