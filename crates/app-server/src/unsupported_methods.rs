//! Methods of the family that there is nothing behind here. Who calls one is told why.

/// Names, or the beginnings of names that end in `/`, and why they are not there.
const ABSENT: &[(&str, &str)] = &[
    (
        "account/login/",
        "there are no accounts to log in to; set the variable of the provider's key, such as \
         OPENAI_API_KEY, and start the server again",
    ),
    (
        "account/logout",
        "there is no account to log out of; keys come from the environment and `troupe login`",
    ),
    (
        "account/",
        "there are no accounts; keys come from the environment and `troupe login`",
    ),
    (
        "plugin/",
        "there are no plugins; use skills and MCP servers",
    ),
    (
        "marketplace/",
        "there are no plugins; use skills and MCP servers",
    ),
    ("app/", "there are no apps; use MCP servers"),
    ("thread/realtime/", "there is no audio; use turn/start"),
    (
        "windowsSandbox/",
        "there is no Windows sandbox; the kernel of this system is the sandbox",
    ),
    (
        "remoteControl/",
        "this server is reached by its own listeners only",
    ),
    ("environment/", "commands run on this machine only"),
    (
        "feedback/",
        "nothing is uploaded; `troupe doctor` prints what a report needs",
    ),
    (
        "mcpServer/oauth/",
        "MCP servers take a token from a variable (bearer_token_env_var)",
    ),
    (
        "externalAgentConfig/",
        "configurations of other programs are taken over by hand",
    ),
    (
        "experimentalFeature/",
        "there are no switches for features; what there is is on",
    ),
];

/// Returns why a method of this name is not there, if its absence has a reason.
pub(super) fn why(method: &str) -> Option<&'static str> {
    let is_it = |name: &str| match name.strip_suffix('/') {
        Some(_) => method.starts_with(name),
        None => method == name,
    };
    let found = ABSENT.iter().find(|(name, _)| is_it(name));
    found.map(|(_, why)| *why)
}
