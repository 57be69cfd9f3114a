/// One item of a list in `Accept`, `Accept-Encoding` or a similar field (RFC 9110 §12.4.2).
package struct WeightedItem: Sendable, Equatable {
    /// The item's name in lower case, without its parameters.
    package var name: String
    /// The weight in thousandths; 0 means not acceptable. A missing or malformed weight counts as
    /// 1,000.
    package var weight: Int

    /// Returns the items of all lines of the field. A comma ends an item even within quotes,
    /// because no item's name contains a comma.
    package static func all(in values: [String]) -> [WeightedItem] {
        values.flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }.compactMap { item in
            let parts = item.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            let name = word(parts[0])
            guard !name.isEmpty else { return nil }
            let weight = parts.dropFirst().lazy.compactMap { self.weight(word($0)) }.first
            return WeightedItem(name: String(decoding: name, as: UTF8.self), weight: weight ?? 1000)
        }
    }

    private static func word(_ text: Substring.UTF8View) -> [UInt8] {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let start = text.drop(while: isSpace)
        let end = start.reversed().drop(while: isSpace)
        return end.reversed().map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// Returns `q=0.25` as 250 thousandths; `nil` if it is malformed.
    private static func weight(_ parameter: [UInt8]) -> Int? {
        guard parameter.starts(with: "q=".utf8) else { return nil }
        let digits = parameter.dropFirst(2).filter { $0 != UInt8(ascii: ".") }
        let isNumber = (1...4).contains(digits.count) && digits.allSatisfy { (0x30...0x39) ~= $0 }
        guard isNumber else { return nil }
        let padded = digits + Array(repeating: 0x30, count: 4 - digits.count)
        return min(1000, padded.reduce(0) { $0 * 10 + Int($1 - 0x30) })
    }
}

/// Content negotiation by `Accept` (RFC 9110 §12.5.1).
package enum Accept {
    /// Returns the index of the preferred offer. The offer with the highest weight is preferred,
    /// then the offer that the most specific range matches, then the first offer. Returns `nil` if
    /// no offer is acceptable or the field is absent.
    package static func choice(among offers: [String], by values: [String]) -> Int? {
        let wanted = WeightedItem.all(in: values)
        var best: (offer: Int, weight: Int, plainness: Int)?
        for (index, offer) in offers.enumerated() {
            var met: (weight: Int, plainness: Int)?
            for item in wanted {
                guard let plainness = plainness(item.name, of: offer) else { continue }
                if plainness > met?.plainness ?? -1 { met = (item.weight, plainness) }
            }
            guard let met, met.weight > 0 else { continue }
            if let best, (met.weight, met.plainness) <= (best.weight, best.plainness) { continue }
            best = (index, met.weight, met.plainness)
        }
        return best?.offer
    }

    /// Returns how specific a matching range is: 2 for the type itself, 1 for `text/*`, 0 for
    /// `*/*`. Returns `nil` if the range does not match the type.
    private static func plainness(_ range: String, of type: String) -> Int? {
        if range.utf8.elementsEqual(type.utf8) { return 2 }
        if range.utf8.elementsEqual("*/*".utf8) { return 0 }
        guard range.utf8.suffix(2).elementsEqual("/*".utf8) else { return nil }
        return type.utf8.starts(with: range.utf8.dropLast()) ? 1 : nil
    }
}
