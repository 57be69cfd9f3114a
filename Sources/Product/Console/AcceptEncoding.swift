import HTTP

/// `Accept-Encoding` (RFC 9110 §12.5.3), as far as gzip is concerned.
enum AcceptEncoding {
    /// True if gzip, or else `*`, is named with a weight above zero.
    static func acceptsGzip(_ values: [String]) -> Bool {
        let items = WeightedItem.all(in: values)
        let item =
            items.first { $0.name.utf8.elementsEqual("gzip".utf8) }
            ?? items.last { $0.name.utf8.elementsEqual("*".utf8) }
        return item.map { $0.weight > 0 } ?? false
    }
}
