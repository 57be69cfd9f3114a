import API
import Domain

/// The German texts of the hosted pages. The key is the English sentence; each `{}` is replaced by
/// a value, in the same order in both languages.
enum HostedGerman {
    static let sentences: [String: String] = [
        "Sign in": "Anmelden",
        "No provider is set up yet. Ask your administrator.":
            "Noch ist kein Anbieter eingerichtet. Fragen Sie Ihre Verwaltung.",
        "Add a sign-in": "Eine Anmeldung hinzufügen",
        "It is added to the account {}.": "Sie kommt zum Konto {} hinzu.",
        "Sign in the way that you want to use for this account from now on.":
            "Melden Sie sich so an, wie Sie es von nun an bei diesem Konto wollen.",
        "If an app asks you for eight digits beside the link: {}.":
            "Wenn eine App neben dem Link acht Ziffern verlangt: {}.",
        "If that is not your account, close the page.":
            "Wenn das nicht Ihr Konto ist, schließen Sie die Seite.",
        "I have a link or a code": "Ich habe einen Link oder einen Code",
        "This link adds a sign-in to an account. The next page says which.":
            "Dieser Link fügt einem Konto eine Anmeldung hinzu. Die nächste Seite sagt, welchem.",
        "The whole link, or its code": "Der ganze Link oder sein Code",
        "{} is added": "{} ist hinzugefügt",
        "This did not work": "Das hat nicht geklappt",
        "The sign-in already belongs to another account.":
            "Diese Anmeldung gehört schon zu einem anderen Konto.",
        "The link is used up or over. Ask your administrator for a new one.":
            "Der Link ist verbraucht oder abgelaufen. Bitten Sie Ihre Verwaltung um einen neuen.",
        "Where do you want to go?": "Wohin möchten Sie?",
        "More than one organisation knows you.": "Mehr als eine Organisation kennt Sie.",
        "Is this your account?": "Ist das Ihr Konto?",
        "There is an account with the address {} already. Sign in the way that you did before; "
            + "then {} can be added to it.":
            "Mit der Adresse {} gibt es schon ein Konto. Melden Sie sich an wie bisher; dann kann {} "
            + "hinzukommen.",
        "Add {}?": "{} hinzufügen?",
        "Add {}": "{} hinzufügen",
        "{} will sign you in as {}.": "{} meldet Sie dann als {} an.",
        "{} as {} will sign you in as {}.": "{} als {} meldet Sie dann als {} an.",
        "If you did not ask for this, close the page.":
            "Wenn Sie das nicht wollten, schließen Sie die Seite.",
        "You are signed up": "Sie sind angemeldet",
        "You are known as {}.": "Sie sind als {} bekannt.",
        "Go back to your app and sign in there.":
            "Gehen Sie zurück in Ihre App, und melden Sie sich dort an.",
        "Go to the app": "Zur App",
        "Continue with {}": "Weiter mit {}",
        "Address": "Adresse",
        "Password": "Passwort",
        "Continue with the password": "Weiter mit dem Passwort",
        "Continue": "Weiter",
        "Reference: {}": "Kennzeichen: {}",
        "Go back and begin again. If it goes on, ask your administrator.":
            "Gehen Sie zurück, und beginnen Sie neu. Wenn es so bleibt, fragen Sie Ihre Verwaltung.",
    ]

    /// The text of a refusal by its code; if a code is missing here, the page shows the English
    /// text.
    static let refusals: [Code: String] = [
        .unauthorized: "Die Anmeldung ist falsch oder abgelaufen.",
        .forbidden: "Das ist nicht erlaubt.",
        .notFound: "Das gibt es hier nicht.",
        .rateLimited: "Das waren zu viele Versuche. Warten Sie einen Augenblick.",
        .unavailable: "Die Anmeldung ist gerade nicht möglich. Versuchen Sie es noch einmal.",
        .reason(.userSuspended): "Das Konto ist gesperrt.",
        .reason(.tenantSuspended): "Diese Organisation ist gesperrt.",
        .reason(.identityConflict): "Diese Anmeldung gehört schon zu einem anderen Konto.",
        .reason(.emailUnverified):
            "Ihre Adresse gilt bei diesem Anbieter nicht als bestätigt, oder mehrere Ihrer "
            + "Adressen sind eingeladen.",
        .reason(.emailMissing): "Der Anbieter hat keine Adresse geschickt.",
        .reason(.notInvited): "Sie sind hier nicht eingeladen.",
        .reason(.noTenant): "Zu Ihrer Adresse gibt es hier weder ein Konto noch eine Einladung.",
        .reason(.approvalPending): "Ihre Anfrage wartet auf Zustimmung.",
        .reason(.inviteExpired): "Die Einladung ist abgelaufen.",
        .reason(.inviteRevoked): "Die Einladung gilt nicht mehr.",
        .reason(.inviteUsed): "Die Einladung wurde schon benutzt.",
        .reason(.inviteUnknown): "Dieser Link gilt nicht. Bitten Sie um einen neuen.",
        .reason(.inviteEmailMismatch): "Die Einladung gilt einer anderen Adresse.",
        .reason(.joinExpired): "Der Beitrittslink ist abgelaufen.",
        .reason(.joinRevoked): "Der Beitrittslink gilt nicht mehr.",
        .reason(.joinUsedUp): "Der Beitrittslink ist aufgebraucht.",
        .reason(.joinUnknown): "Dieser Link gilt nicht. Bitten Sie um einen neuen.",
    ]
}
