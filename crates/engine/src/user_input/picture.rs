//! Pictures in a message. They are checked and made smaller on threads that may block, a few
//! at a time.

use std::path::PathBuf;

use troupe_protocol::history::ContentItem;
use troupe_protocol::input::ImageDetail;
use troupe_tools::{Picture, Scale};

/// A picture by its address. The provider fetches it, unless the address is the picture.
pub(super) async fn linked(url: &str, detail: Option<ImageDetail>) -> Result<ContentItem, String> {
    let scheme = url.split_once(':').map(|(scheme, _)| scheme);
    let image_url = match scheme {
        Some("https" | "http") => url.to_owned(),
        Some("data") => {
            let url = url.to_owned();
            Picture::decoded(move || Picture::from_url(&url, scale(detail))).await?
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
    let read = Picture::decoded(move || Picture::read(&path, scale(detail))).await;
    let image_url = read.map_err(|problem| format!("local_image: {problem}"))?;
    Ok(ContentItem::InputImage { image_url, detail })
}

fn scale(detail: Option<ImageDetail>) -> Scale {
    match detail {
        Some(ImageDetail::Original) => Scale::Original,
        Some(ImageDetail::Auto | ImageDetail::Low | ImageDetail::High) | None => Scale::Fitting,
    }
}
