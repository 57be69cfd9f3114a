/// A tenant's logo. It is made anew from what was uploaded, so that it holds nothing but the image.
package struct Logo: Sendable, Equatable {
    package enum Format: String, Sendable, CaseIterable {
        case png = "image/png"
        case svg = "image/svg+xml"
    }

    /// Bytes that an upload may have.
    package static let limit = 20_480
    package let format: Format
    package let content: [UInt8]

    package init(_ format: Format, _ upload: [UInt8]) throws(LogoFault) {
        guard upload.count <= Self.limit else {
            throw LogoFault("has more than \(Self.limit) bytes")
        }
        self.format = format
        content =
            switch format {
            case .png: try PNGLogo.content(of: upload)
            case .svg: try SVGLogo.content(of: upload)
            }
        // Written anew, an SVG names its namespace.
        guard content.count <= Self.limit else {
            throw LogoFault("has more than \(Self.limit) bytes when it is written out")
        }
    }
}

/// Why an image is no logo. `detail` completes the sentence "the image …".
package struct LogoFault: Error {
    package let detail: String

    init(_ detail: String) { self.detail = detail }
}
