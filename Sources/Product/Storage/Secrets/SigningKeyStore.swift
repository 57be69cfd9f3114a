import Cryptography
import Postgres
import Text

/// A stored key that signs access tokens. The private part is encrypted.
package struct SigningKeyRow: Sendable {
    var generation: Int
    package var kid: String
    package var sealed: [UInt8]
    package var publicJWK: String
    package var signsFrom: Timestamp
    package var signsUntil: Timestamp
    package var publishedUntil: Timestamp

    package init(
        generation: Int, kid: String, sealed: [UInt8], publicJWK: String, signsFrom: Timestamp,
        signsUntil: Timestamp, publishedUntil: Timestamp
    ) {
        self.generation = generation
        self.kid = kid
        self.sealed = sealed
        self.publicJWK = publicJWK
        self.signsFrom = signsFrom
        self.signsUntil = signsUntil
        self.publishedUntil = publishedUntil
    }

    init(_ row: Row) throws(PostgresError) {
        (
            generation, kid, sealed, publicJWK, signsFrom, signsUntil, publishedUntil
        ) = try row.columns()
    }
}

extension Database {
    /// Encrypts and decrypts private keys. The encryption of each private key is bound to the key's
    /// `kid`.
    package var signingKeySealer: Sealer { Sealer(secrets.derive("signing keys")) }

    /// Every key that is still published, the newest first.
    package func signingKeys() async throws(PostgresError) -> [SigningKeyRow] {
        let rows = try await app.read(
            """
            SELECT generation, kid, sealed, public_jwk, signs_from, signs_until, published_until
            FROM signing_keys WHERE published_until > \(clock()) ORDER BY generation DESC
            """)
        var keys: [SigningKeyRow] = []
        for row in rows { keys.append(try SigningKeyRow(row)) }
        return keys
    }

    /// The highest generation that was ever stored; 0 if there was none.
    package func newestSigningKey() async throws(PostgresError) -> Int {
        let rows = try await app.read("SELECT coalesce(max(generation), 0) FROM signing_keys")
        return try rows.first?.get(0, as: Int.self) ?? 0
    }

    /// Stores a new key. If replicas add the same generation concurrently, only the first key is
    /// stored, and the other replicas must read that key.
    package func addSigningKey(_ key: SigningKeyRow) async throws(PostgresError) {
        _ = try await app.query(
            """
            INSERT INTO signing_keys (generation, kid, sealed, public_jwk, signs_from, signs_until,
                published_until)
            VALUES (\(key.generation), \(key.kid), \(key.sealed), \(key.publicJWK),
                \(key.signsFrom), \(key.signsUntil), \(key.publishedUntil))
            ON CONFLICT DO NOTHING
            """)
    }

    /// Publishes a key for longer. A key from the settings needs this, since it signs for as long
    /// as it is set.
    package func republishSigningKey(
        _ kid: String, until end: Timestamp
    ) async throws(PostgresError) {
        _ = try await app.query(
            """
            UPDATE signing_keys SET published_until = greatest(published_until, \(end))
            WHERE kid = \(kid)
            """)
    }
}
