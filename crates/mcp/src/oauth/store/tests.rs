use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rmcp::transport::auth::{CredentialStore as _, StoredCredentials};

use super::McpLoginStore;

fn credentials() -> StoredCredentials {
    StoredCredentials::new("client".to_owned(), None, Vec::new(), None)
}

#[tokio::test]
async fn a_login_belongs_to_a_name_and_an_address() {
    let home = tempfile::tempdir().unwrap();
    let store = McpLoginStore::in_home(home.path());
    store
        .login("ore", "https://a/mcp")
        .save(credentials())
        .await
        .unwrap();
    assert!(store.has("ore", "https://a/mcp"));
    assert!(!store.has("ore", "https://b/mcp"), "another address");
    assert!(!store.has("coal", "https://a/mcp"), "another name");
    assert_eq!(store.forget("coal").unwrap(), 0);
    assert_eq!(store.forget("ore").unwrap(), 1);
    assert!(!store.has("ore", "https://a/mcp"));
}

#[tokio::test]
async fn only_the_owner_can_read_a_login() {
    let home = tempfile::tempdir().unwrap();
    let store = McpLoginStore::in_home(home.path());
    let login = store.login("ore", "https://a/mcp");
    login.save(credentials()).await.unwrap();
    let path = store.path("ore", "https://a/mcp");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let refusal = login.load().await.unwrap_err().to_string();
    assert!(refusal.contains("others can read"), "{refusal}");
}

#[tokio::test]
async fn what_is_no_login_is_not_quoted() {
    let home = tempfile::tempdir().unwrap();
    let store = McpLoginStore::in_home(home.path());
    let login = store.login("ore", "https://a/mcp");
    login.save(credentials()).await.unwrap();
    fs::write(store.path("ore", "https://a/mcp"), "{\"a-token\"}").unwrap();
    let refusal = login.load().await.unwrap_err().to_string();
    assert!(refusal.contains("troupe mcp login ore"), "{refusal}");
    assert!(!refusal.contains("a-token"), "{refusal}");
}

/// A token for renewal is taken once only by many servers: two processes must not both send it.
#[tokio::test]
async fn one_at_a_time_renews_a_login() {
    let home = tempfile::tempdir().unwrap();
    let store = McpLoginStore::in_home(home.path());
    let guard = store
        .login("ore", "https://a/mcp")
        .acquire_refresh_guard()
        .await
        .unwrap();
    let path = store.path("ore", "https://a/mcp").with_extension("lock");
    let other = fs::File::open(path).unwrap();
    assert!(other.try_lock().is_err());
    drop(guard);
    assert!(other.try_lock().is_ok());
}
