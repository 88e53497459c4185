//! Pictures in a message. They are checked and made smaller on threads that may block, a few
//! at a time. That takes seconds for a large one, so a session has it done beside its loop before
//! it reads the message.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use troupe_protocol::history::ContentItem;
use troupe_protocol::input::{ImageDetail, UserInput};
use troupe_tools::{ModelPicture, PictureScale};

use crate::limits::INPUT_IMAGES_MAX;

/// A picture that is decoded here, and not fetched by the provider.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PictureSource {
    /// A `data:` address.
    Data(String, PictureScale),
    File(PathBuf, PictureScale),
}

/// Pictures that were decoded already, as `data:` addresses, or what is wrong with them.
#[derive(Debug, Default)]
pub(crate) struct DecodedPictures(HashMap<PictureSource, Result<String, String>>);

impl PictureSource {
    fn of(item: &UserInput, cwd: &Path) -> Option<Self> {
        match item {
            UserInput::Image { image_url, detail } if image_url.starts_with("data:") => {
                Some(Self::Data(image_url.clone(), scale(*detail)))
            }
            UserInput::LocalImage { path, detail } => {
                Some(Self::File(cwd.join(path), scale(*detail)))
            }
            _ => None,
        }
    }

    async fn decode(self) -> Result<String, String> {
        match self {
            Self::Data(url, scale) => {
                ModelPicture::decoded(move || ModelPicture::from_url(&url, scale)).await
            }
            Self::File(path, scale) => {
                let read = ModelPicture::decoded(move || ModelPicture::read(&path, scale)).await;
                read.map_err(|problem| format!("local_image: {problem}"))
            }
        }
    }
}

impl DecodedPictures {
    /// Decodes what is not decoded yet, one after the other.
    pub(crate) async fn decode(sources: Vec<PictureSource>) -> Self {
        let mut decoded = HashMap::new();
        for source in sources {
            let picture = source.clone().decode().await;
            decoded.insert(source, picture);
        }
        Self(decoded)
    }

    /// Returns the pictures of a message that are still to be decoded. A message with more than
    /// are taken is refused anyway.
    pub(crate) fn missing(&self, items: &[UserInput], cwd: &Path) -> Vec<PictureSource> {
        let sources = items.iter().filter_map(|item| PictureSource::of(item, cwd));
        let missing = sources.filter(|source| !self.0.contains_key(source));
        missing.take(INPUT_IMAGES_MAX).collect()
    }

    async fn get(&self, source: PictureSource) -> Result<String, String> {
        match self.0.get(&source) {
            Some(decoded) => decoded.clone(),
            None => source.decode().await,
        }
    }
}

/// A picture by its address. The provider fetches it, unless the address is the picture.
pub(crate) async fn linked(
    url: &str,
    detail: Option<ImageDetail>,
    decoded: &DecodedPictures,
) -> Result<ContentItem, String> {
    let scheme = url.split_once(':').map(|(scheme, _)| scheme);
    let image_url = match scheme {
        Some("https" | "http") => url.to_owned(),
        Some("data") => {
            let source = PictureSource::Data(url.to_owned(), scale(detail));
            decoded.get(source).await?
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
    decoded: &DecodedPictures,
) -> Result<ContentItem, String> {
    let source = PictureSource::File(path, scale(detail));
    let image_url = decoded.get(source).await?;
    Ok(ContentItem::InputImage { image_url, detail })
}

fn scale(detail: Option<ImageDetail>) -> PictureScale {
    match detail {
        Some(ImageDetail::Original) => PictureScale::Original,
        Some(ImageDetail::Auto | ImageDetail::Low | ImageDetail::High) | None => {
            PictureScale::Fitting
        }
    }
}
