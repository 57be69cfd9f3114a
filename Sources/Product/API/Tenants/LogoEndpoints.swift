import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/logo` and `/assets/logos/{hash}`: the logo on the tenant's pages.
package enum LogoEndpoints {
    package static let all: [Endpoint] = [put, delete, get]

    private static let formats = Logo.Format.allCases.map { Media($0.rawValue) }

    private static let put = Endpoint(
        .put, "/v1/tenants/{tenant}/logo", id: "putLogo", tag: "Tenants",
        summary:
            "Sets the logo: a PNG of at most 1024 by 1024 pixels, or an SVG of simple shapes. Data "
            + "in the file that is not part of the image, such as metadata, is not stored.",
        access: .right(.editTenant), body: .raw(formats + [.bytes]),
        answers: [.ok(TenantRow.shape)], ifMatch: .honoured, maxBody: Logo.limit
    ) { call in
        let content = call.request.body
        let format =
            Logo.Format(rawValue: Dispatcher.mediaType(of: call.request))
            ?? (content.starts(with: "\u{89}PNG".unicodeScalars.map { UInt8($0.value) })
                ? .png : .svg)
        let logo: Logo
        do throws(LogoFault) {
            logo = try Logo(format, content)
        } catch {
            throw Problem.invalid([FieldError("", .invalid, error.detail)])
        }
        return try await change(call, to: logo)
    }

    private static let delete = Endpoint(
        .delete, "/v1/tenants/{tenant}/logo", id: "deleteLogo", tag: "Tenants",
        summary: "Removes the logo.", access: .right(.editTenant),
        answers: [.ok(TenantRow.shape)], ifMatch: .honoured
    ) { call in try await change(call, to: nil) }

    private static func change(_ call: Call, to logo: Logo?) async throws -> Response {
        let row = try await call.scope.change(by: call.actor) { change in
            let row = try await change.lockTenant()
            try call.requireMatch(row.etag)
            return try await change.setLogo(logo, of: row)
        }
        return .ok(row, etag: row.etag)
    }

    private static let get = Endpoint(
        .get, "/assets/logos/{hash}", id: "getLogo", tag: "Tenants",
        summary: "Returns the logo with this SHA-256 hash.", access: .open,
        answers: [Answer(200, .other(formats))]
    ) { call in
        let hash = try call.parameter("hash")
        guard hash.utf8.count == 64, let logo = try await call.database.logo(hash) else {
            throw Problem.notFound("logo")
        }
        var answer = Response(200, type: logo.type, logo.content)
        // The URL contains the hash of the content, so the image at this URL never changes. The
        // security policy keeps the image from running anything if a browser opens it as a page.
        answer.set("cache-control", "public, max-age=31536000, immutable")
        answer.set("content-security-policy", "default-src 'none'; sandbox")
        answer.set("x-content-type-options", "nosniff")
        answer.set("cross-origin-resource-policy", "cross-origin")
        return answer
    }
}

extension Appearance {
    static let field = FieldShape(
        "appearance",
        .object(
            ObjectShape(
                "Appearance",
                [
                    .nullable(
                        "name", .string(min: 1, max: 64, rule: .displayName),
                        "The name that people see instead of the tenant's name."),
                    .nullable(
                        "accent", .string(rule: accentRule),
                        "The colour of the buttons, as #rrggbb."),
                    .readOnly(
                        "on_accent", .string(), nullable: true, always: false,
                        "The text colour on the accent: black or white, whichever is easier to "
                            + "read."),
                    .readOnly(
                        "logo_url", .string(), nullable: true, always: false,
                        "The path of the logo, relative to this server's URL."),
                ])),
        "How the pages for sign-in, invites and join links look.")

    private static let accentRule = TextRule(
        pattern: "^#[0-9A-Fa-f]{6}$", detail: "must be a colour of the form #rrggbb",
        example: "#1d5bc9", check: Appearance.isAccent)

    var json: JSONValue {
        .object([
            .init("name", name.map { .string($0) } ?? .null),
            .init("accent", accent.map { .string($0) } ?? .null),
            .init("on_accent", ink.map { .string($0) } ?? .null),
            .init("logo_url", logoPath.map { .string($0) } ?? .null),
        ])
    }

    /// The appearance after the change that the body requests. A member that is absent keeps its
    /// value; a member that is `null` is cleared.
    func changed(by input: Input?) -> Appearance {
        guard let input else { return self }
        var new = self
        if input.has("name") { new.name = input.optionalString("name") }
        if input.has("accent") { new.accent = input.optionalString("accent")?.lowercased() }
        return new
    }
}

extension TenantRow {
    /// The shape of a tenant for the holder of an invite or a join link, who may be a stranger.
    static let faceShape = ObjectShape([
        .readOnly(
            "name", .string(),
            "The tenant's name. If `appearance` has another name, people see that one."),
        .readOnly("slug", .string(), "The tenant's name in URLs."), Appearance.field,
    ])

    var face: JSONValue {
        .object([
            .init("name", .string(name)), .init("slug", .string(slug)),
            .init("appearance", appearance.json),
        ])
    }
}
