//! Pictures as PNG: the SVG, drawn with a font of our own, so they look the same on every machine.

/// This firstbyte is built with the feature `png`.
pub const AVAILABLE: bool = cfg!(feature = "png");

#[cfg(not(feature = "png"))]
/// Always `None`: this firstbyte draws no PNG.
pub fn of_svg(_: &str) -> Option<Vec<u8>> {
    None
}

#[cfg(feature = "png")]
pub use drawn::of_svg;

#[cfg(feature = "png")]
mod drawn {
    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{Options, Tree};

    /// Dots for each unit of the SVG: sharp on a screen of high density, and in print.
    const SCALE: f32 = 2.0;

    /// The PNG of an SVG of ours; `None` where that cannot be drawn (it has no size, or is not an SVG).
    pub fn of_svg(svg: &str) -> Option<Vec<u8>> {
        let mut options = Options::default();
        let fonts = options.fontdb_mut();
        fonts.load_font_data(dejavu::sans::regular().to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");

        let tree = Tree::from_str(svg, &options).ok()?;
        let size = tree.size().to_int_size().scale_by(SCALE)?;
        let mut picture = Pixmap::new(size.width(), size.height())?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut picture.as_mut());
        picture.encode_png().ok()
    }
}

#[cfg(all(test, feature = "png"))]
mod tests {
    use super::*;
    use resvg::tiny_skia::{Color, Pixmap};

    fn drawn(inner: &str) -> Pixmap {
        let svg =
            format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"40\">{inner}</svg>");
        Pixmap::decode_png(&of_svg(&svg).unwrap()).unwrap()
    }

    fn inked(picture: &Pixmap) -> usize {
        picture.pixels().iter().filter(|pixel| pixel.alpha() > 0).count()
    }

    #[test]
    fn a_picture_has_its_size_its_shapes_and_its_letters() {
        let shape = drawn("<rect x=\"0\" y=\"0\" width=\"10\" height=\"10\" fill=\"#ff0000\"/>");
        assert_eq!((shape.width(), shape.height(), inked(&shape)), (200, 80, 400));
        assert_eq!(shape.pixel(1, 1).unwrap().demultiply(), Color::from_rgba8(255, 0, 0, 255).to_color_u8());
        let text = drawn(
            "<text x=\"5\" y=\"20\" font-family=\"sans-serif\" font-size=\"14\">\u{2212} \u{b5}s</text>",
        );
        assert!(inked(&text) > 50, "letters need a font");
    }

    #[test]
    fn text_that_is_not_an_svg_gives_no_picture() {
        assert_eq!(of_svg("no picture"), None);
        assert_eq!(of_svg(""), None);
    }
}
