import Text

/// A signature of AWS Signature Version 4 ("Create a signed AWS API request", AWS IAM user guide),
/// read from `Authorization`. To verify the request, the signature is computed again and compared.
package struct AWSSignature: Sendable {
    package static let scheme = "AWS4-HMAC-SHA256"
    /// How many seconds the request's date may differ from the server's clock.
    package static let window: Int64 = 300

    /// The signed parts of the request. The path is as sent; the field names are in lower case.
    package struct Signed: Sendable {
        package var method: String
        package var path: String
        package var query: String
        package var fields: [(name: String, value: String)]
        package var body: [UInt8]

        package init(
            method: String, path: String, query: String, fields: [(name: String, value: String)],
            body: [UInt8]
        ) {
            self.method = method
            self.path = path
            self.query = query
            self.fields = fields
            self.body = body
        }
    }

    package let accessKeyID: String
    /// The date in the credential scope, as `YYYYMMDD`.
    let day: String
    let region: String
    package let service: String
    private let signedFields: [String]
    private let signature: [UInt8]

    /// Parses the value of `Authorization`; `nil` for another scheme or a malformed value.
    package init?(_ authorization: String) {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].utf8.elementsEqual(Self.scheme.utf8) else { return nil }
        var named: [String: String] = [:]
        for part in parts[1].split(separator: ",") {
            let pair = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            guard pair.count == 2, named[String(pair[0])] == nil else { return nil }
            named[String(pair[0])] = String(pair[1].prefix { $0 != " " })
        }
        let scope = (named["Credential"] ?? "").split(separator: "/").map(String.init)
        guard scope.count == 5, scope[4].utf8.elementsEqual("aws4_request".utf8),
            let fields = named["SignedHeaders"], let text = named["Signature"],
            text.utf8.count == 64, let signature = Hex.decode(text)
        else { return nil }
        (accessKeyID, day, region, service) = (scope[0], scope[1], scope[2], scope[3])
        signedFields = fields.split(separator: ";").map(String.init)
        self.signature = signature
    }

    /// Returns the request's `x-amz-date` (`YYYYMMDD'T'HHMMSS'Z'`). Returns `nil` if this field is
    /// missing or repeated, or if its date is not `day`. Also returns `nil` if the host or an
    /// `x-amz-` field is not signed, or if the signed names are not sorted.
    package func date(of request: Signed) -> String? {
        let dates = request.fields.filter { $0.name == "x-amz-date" }
        guard dates.count == 1, dates[0].value.utf8.starts(with: day.utf8) else { return nil }
        let names = Set(signedFields)
        let needed = request.fields.map(\.name).filter { $0.hasPrefix("x-amz-") } + ["host"]
        guard names.count == signedFields.count, signedFields == signedFields.sorted(),
            needed.allSatisfy(names.contains)
        else { return nil }
        return dates[0].value
    }

    /// Whether the signature is right. If the request contains a hash of its body
    /// (`x-amz-content-sha256`), this hash must be right too. Signatures are compared in constant
    /// time.
    package func matches(_ request: Signed, secret: [UInt8]) -> Bool {
        guard let date = date(of: request), let canonical = canonical(request) else { return false }
        let scope = [day, region, service, "aws4_request"]
        let toSign = [
            Self.scheme, date, scope.joined(separator: "/"),
            Hex.encode(SHA256.hash(Array(canonical.utf8))),
        ].joined(separator: "\n")
        var key = Array("AWS4".utf8) + secret
        for part in scope { key = SHA256.authenticate(Array(part.utf8), key: key) }
        return constantTimeEqual(SHA256.authenticate(Array(toSign.utf8), key: key), signature)
    }

    private func canonical(_ request: Signed) -> String? {
        let payload = Hex.encode(SHA256.hash(request.body))
        for field in request.fields where field.name == "x-amz-content-sha256" {
            guard field.value.utf8.elementsEqual(payload.utf8) else { return nil }
        }
        guard let query = Self.canonicalQuery(request.query) else { return nil }
        var lines = [
            request.method, PercentEncoding.encode(request.path.utf8, keeping: 0x2F), query,
        ]
        for name in signedFields {
            let values = request.fields.filter { $0.name == name }.map { Self.trimmed($0.value) }
            guard !values.isEmpty else { return nil }
            lines.append(name + ":" + values.joined(separator: ","))
        }
        lines += ["", signedFields.joined(separator: ";"), payload]
        return lines.joined(separator: "\n")
    }

    private static func canonicalQuery(_ query: String) -> String? {
        var pairs: [(String, String)] = []
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decode(pair[0].utf8),
                let value = PercentEncoding.decode((pair.count > 1 ? pair[1] : "").utf8)
            else { return nil }
            pairs.append((PercentEncoding.encode(name), PercentEncoding.encode(value)))
        }
        return pairs.sorted { $0 < $1 }.map { $0.0 + "=" + $0.1 }.joined(separator: "&")
    }

    /// Removes spaces at both ends and replaces each run of inner spaces by one space.
    private static func trimmed(_ value: String) -> String {
        value.split(separator: " ").joined(separator: " ")
    }
}
