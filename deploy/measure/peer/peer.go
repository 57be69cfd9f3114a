// The Go server of deploy/bench, which answers the same list by Go's usual means: net/http, pgx from Debian,
// encoding/json. It runs the statement of the file LIST_SQL, whose $1 is the tenant. Under /v1 it looks up the
// caller's key and opens the rows of that tenant alone, as a server has to; under /statement it checks no caller
// and opens the rows of every tenant.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgtype"
	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
)

type identity struct {
	ID           string     `json:"id"`
	Provider     string     `json:"provider"`
	Issuer       string     `json:"issuer"`
	Subject      string     `json:"subject"`
	Email        *string    `json:"email"`
	EmailVouched bool       `json:"email_vouched"`
	AliasCount   int        `json:"alias_count"`
	CreatedAt    time.Time  `json:"created_at"`
	LastUsedAt   *time.Time `json:"last_used_at"`
	LinkedBy     *linker    `json:"linked_by"`
}

type linker struct {
	Type string  `json:"type"`
	ID   *string `json:"id"`
}

type user struct {
	ID              string     `json:"id"`
	TenantID        string     `json:"tenant_id"`
	Email           string     `json:"email"`
	EmailVerifiedAt *time.Time `json:"email_verified_at"`
	Name            *string    `json:"name"`
	Role            string     `json:"role"`
	Status          string     `json:"status"`
	Source          string     `json:"source"`
	Identities      []identity `json:"identities"`
	CreatedAt       time.Time  `json:"created_at"`
	UpdatedAt       time.Time  `json:"updated_at"`
	LastSignInAt    *time.Time `json:"last_sign_in_at"`
	ExternalID      *string    `json:"external_id"`
	Public          attributes `json:"public_attributes"`
	Private         attributes `json:"private_attributes"`
	Via             *linker    `json:"joined_by"`
	Keep            bool       `json:"keep"`
	MergedIDs       []string   `json:"merged_ids"`
}

type attributes = json.RawMessage

type page struct {
	Items []user `json:"items"`
	Total int64  `json:"total"`
}

const digits = "0123456789abcdef"

func text(id pgtype.UUID) string {
	out := make([]byte, 0, 36)
	for at, one := range id.Bytes {
		if at == 4 || at == 6 || at == 8 || at == 10 {
			out = append(out, '-')
		}
		out = append(out, digits[one>>4], digits[one&15])
	}
	return string(out)
}

func main() {
	statement, err := os.ReadFile(os.Getenv("LIST_SQL"))
	if err != nil {
		log.Fatal(err)
	}
	whole, owned := pool("PLATFORM_DATABASE"), pool("DATABASE")
	http.HandleFunc("/statement/v1/tenants/", func(w http.ResponseWriter, r *http.Request) {
		tenant := strings.Split(r.URL.Path, "/")[4]
		rows, err := whole.Query(r.Context(), string(statement), tenant)
		answer(w, rows, err, tenant)
	})
	http.HandleFunc("/v1/tenants/", func(w http.ResponseWriter, r *http.Request) {
		hash := sha256.Sum256([]byte(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
		var scopes []string
		if err := whole.QueryRow(r.Context(), keyed, hash[:]).Scan(&scopes); err != nil {
			http.Error(w, "the key is not known", 401)
			return
		}
		tenant := strings.Split(r.URL.Path, "/")[3]
		transaction, err := owned.Begin(r.Context())
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		defer transaction.Rollback(r.Context())
		_, err = transaction.Exec(r.Context(), "SELECT set_config('app.tenant', $1, true)", tenant)
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		rows, err := transaction.Query(r.Context(), string(statement), tenant)
		answer(w, rows, err, tenant)
		transaction.Commit(r.Context())
	})
	log.Fatal(http.ListenAndServe(os.Getenv("LISTEN"), nil))
}

const keyed = `SELECT scopes FROM api_keys WHERE tenant_id = '00000000-0000-0000-0000-000000000000'
	AND hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`

// Sixteen connections to the database that the variable names.
func pool(variable string) *pgxpool.Pool {
	configuration, err := pgxpool.ParseConfig(os.Getenv(variable) + " pool_max_conns=16 pool_min_conns=16")
	if err != nil {
		log.Fatal(err)
	}
	made, err := pgxpool.ConnectConfig(context.Background(), configuration)
	if err != nil {
		log.Fatal(err)
	}
	return made
}

func answer(w http.ResponseWriter, rows pgx.Rows, err error, tenant string) {
	if err != nil {
		http.Error(w, err.Error(), 500)
		return
	}
	defer rows.Close()
	found := page{Items: make([]user, 0, 51)}
	for rows.Next() {
		var one user
		var sign identity
		var id, signID pgtype.UUID
		var key string
		var provider, issuer, subject *string
		var made *time.Time
		var vouched *bool
		var aliases *int
		var linkerType, linkerID, merged *string
		var public, private string
		var link pgtype.UUID
		var owner pgtype.UUID
		var version int
		var deleted *time.Time
		var before *string
		err := rows.Scan(&id, &owner, &one.Email, &key, &one.EmailVerifiedAt, &one.Name, &one.Role,
			&one.Status, &one.Source, &version, &one.CreatedAt, &one.UpdatedAt, &one.LastSignInAt, &deleted, &before,
			&one.ExternalID, &public, &private, &link, &one.Keep, &merged, &signID, &provider, &issuer, &subject,
			&sign.Email, &made, &sign.LastUsedAt, &vouched, &aliases, &linkerType, &linkerID, &found.Total)
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		one.ID, one.TenantID = text(id), tenant
		one.Public, one.Private = attributes(public), attributes(private)
		one.MergedIDs = []string{}
		if merged != nil {
			one.MergedIDs = strings.Split(*merged, ",")
		}
		if link.Status == pgtype.Present {
			id := text(link)
			one.Via = &linker{"join_link", &id}
		}
		if provider != nil {
			sign.ID, sign.Provider, sign.Issuer = text(signID), *provider, *issuer
			sign.Subject, sign.CreatedAt = *subject, *made
			sign.EmailVouched, sign.AliasCount = *vouched, *aliases
			if linkerType != nil {
				sign.LinkedBy = &linker{*linkerType, linkerID}
			}
			one.Identities = []identity{sign}
		}
		found.Items = append(found.Items, one)
	}
	if len(found.Items) > 50 {
		found.Items = found.Items[:50]
	}
	body, err := json.Marshal(found)
	if err != nil {
		http.Error(w, err.Error(), 500)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
}
