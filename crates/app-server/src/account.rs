//! `account/*` and `getAuthStatus`: whether there is a key, and how far it goes.

use super::call::{Handling, MethodCall};
use super::connection::AppConnection;
use super::host_services::KeyStatus;
use super::wire::Empty;
use super::wire::account::{
    Account, AccountReadResponse, AuthMethod, AuthStatusResponse, RateLimitsResponse,
};

pub(super) fn read(call: MethodCall) -> Handling {
    call.answer(|client: AppConnection, _: Empty| async move {
        let key = client.app().host_services().key();
        Ok(AccountReadResponse {
            account: (key == KeyStatus::Present).then_some(Account::ApiKey),
            requires_openai_auth: key == KeyStatus::Missing,
        })
    })
}

pub(super) fn auth_status(call: MethodCall) -> Handling {
    call.answer(|client: AppConnection, _: Empty| async move {
        let key = client.app().host_services().key();
        Ok(AuthStatusResponse {
            auth_method: (key == KeyStatus::Present).then_some(AuthMethod::ApiKey),
            auth_token: None,
            requires_openai_auth: Some(key == KeyStatus::Missing),
        })
    })
}

pub(super) fn rate_limits(call: MethodCall) -> Handling {
    call.answer(|client: AppConnection, _: Empty| async move {
        Ok(RateLimitsResponse {
            rate_limits: client.app().rate_limits(),
        })
    })
}
