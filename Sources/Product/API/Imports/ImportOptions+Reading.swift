import Cryptography
import Domain
import JSON
import Storage
import Text

extension ImportOptions {
    private static let shape = ObjectShape(
        "ImportOptions",
        [
            FieldShape(
                "mapping", .any, "Our columns by the file's: `{\"email\": \"E-Mail\"}`."),
            FieldShape(
                "issuer", .string(min: 1, max: ImportLimits.issuer),
                "The former system as an issuer, or the id of the pool."),
            FieldShape(
                "hash",
                .object(
                    ObjectShape(
                        "ImportHash",
                        [
                            FieldShape("signer_key", .string(min: 1, max: 512), "In base64."),
                            FieldShape("salt_separator", .string(max: 512), "In base64."),
                            FieldShape("rounds", .integer(1...64), "Firebase's rounds."),
                            FieldShape("mem_cost", .integer(1...32), "Firebase's memory cost."),
                        ])), "The parameters of a Firebase project, which are not kept."),
        ])

    /// The part `options` of a form.
    init(_ bytes: [UInt8]) throws {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: bytes)
        } catch {
            throw Problem(.invalidRequest, "The part options is not JSON: \(error).")
        }
        var decoder = Decoder(allowsReadOnly: false)
        let input = decoder.object(document, Self.shape, at: "/options")
        var errors = decoder.errors
        issuer = input.optionalString("issuer")
        if let given = input["mapping"] {
            mapping = Self.mapping(given)
            if mapping == nil {
                errors.append(
                    FieldError(
                        "/options/mapping", .invalid,
                        "must name columns of ours, each with one of the file's"))
            }
        }
        if errors.isEmpty, let hash = input["hash"] {
            do {
                firebase = try FirebaseProject(
                    signerKey: hash["signer_key"]?.string ?? "",
                    saltSeparator: hash["salt_separator"]?.string ?? "",
                    rounds: hash["rounds"]?.int ?? 8, memoryCost: hash["mem_cost"]?.int ?? 14)
            } catch {
                errors.append(
                    FieldError(
                        "/options/hash", .invalid, "must be a Firebase project's, within the bounds"
                    ))
            }
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
    }

    private static func mapping(_ value: JSONValue) -> [String: String]? {
        guard let members = value.members, !members.isEmpty else { return nil }
        var mapping: [String: String] = [:]
        for member in members {
            guard ImportedRow.isColumn(member.name), let theirs = member.value.string,
                !theirs.isEmpty, mapping.updateValue(theirs, forKey: member.name) == nil
            else { return nil }
        }
        return mapping
    }

    /// The pool of a Cognito import: the one that is named, else the only one that the tenant has.
    mutating func findPool(for scope: TenantScope) async throws {
        let pools = try await scope.database.pools(near: scope.tenant).filter { pool in
            issuer.map { sameBytes($0, pool.issuer) } ?? true
        }
        guard let first = pools.first, pools.count == 1 || issuer != nil else {
            throw Problem.invalid([
                FieldError(
                    "/options/issuer", pools.isEmpty ? .invalid : .required,
                    pools.isEmpty
                        ? "must be the id of a Cognito pool that is a provider here"
                        : "must say which of the pools it is")
            ])
        }
        pool = first
    }
}
