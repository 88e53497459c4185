//! Pictures in a message. They are checked and made smaller on threads that may block, a few
//! at a time.

use std::path::PathBuf;

use tokio::sync::Semaphore;
use troupe_protocol::history::ContentItem;
use troupe_protocol::input::ImageDetail;
use troupe_tools::{Picture, Scale};

use crate::limits::PICTURES_AT_ONCE_MAX;

static DECODERS: Semaphore = Semaphore::const_new(PICTURES_AT_ONCE_MAX);

/// A picture by its address. The provider fetches it, unless the address is the picture.
pub(super) async fn linked(url: &str, detail: Option<ImageDetail>) -> Result<ContentItem, String> {
    let scheme = url.split_once(':').map(|(scheme, _)| scheme);
    let image_url = match scheme {
        Some("https" | "http") => url.to_owned(),
        Some("data") => {
            let url = url.to_owned();
            checked(move || Picture::from_url(&url, scale(detail))).await?
        }
        _ => {
            return Err(
                "image_url begins with neither https:, http: nor data:; send a file as \
                 local_image"
                    .to_owned(),
            );
        }
    };
    Ok(ContentItem::InputImage { image_url, detail })
}

/// A picture in a file of the user's.
pub(super) async fn local(
    path: PathBuf,
    detail: Option<ImageDetail>,
) -> Result<ContentItem, String> {
    let read = checked(move || Picture::read(&path, scale(detail))).await;
    let image_url = read.map_err(|problem| format!("local_image: {problem}"))?;
    Ok(ContentItem::InputImage { image_url, detail })
}

fn scale(detail: Option<ImageDetail>) -> Scale {
    match detail {
        Some(ImageDetail::Original) => Scale::Original,
        Some(ImageDetail::Auto | ImageDetail::Low | ImageDetail::High) | None => Scale::Fitting,
    }
}

async fn checked(
    read: impl FnOnce() -> Result<Picture, String> + Send + 'static,
) -> Result<String, String> {
    let turn = DECODERS.acquire().await;
    let _turn = turn.expect("nobody closes a semaphore that lives as long as the program");
    let read = tokio::task::spawn_blocking(move || read().map(Picture::into_url));
    // A decoder that panics has met a picture that is none.
    read.await
        .unwrap_or_else(|error| Err(format!("a picture could not be decoded: {error}")))
}
