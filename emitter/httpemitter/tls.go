package httpemitter

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// config reads the files. HTTP/1.1 is the only protocol offered.
func (options TLSOptions) config() (*tls.Config, error) {
	config := &tls.Config{ServerName: options.ServerName, NextProtos: []string{"http/1.1"}}
	var problems []error
	switch options.VersionMin {
	case "1.2":
		config.MinVersion = tls.VersionTLS12
	case "1.3":
		config.MinVersion = tls.VersionTLS13
	default:
		problems = append(problems, fmt.Errorf("TLS.VersionMin %q: accepted are 1.2 and 1.3", options.VersionMin))
	}
	if options.CAFile != "" {
		authorities, err := readAuthorities(options.CAFile)
		config.RootCAs = authorities
		problems = append(problems, err)
	}
	if (options.CertificateFile == "") != (options.KeyFile == "") {
		problems = append(problems, errors.New("TLS.CertificateFile and TLS.KeyFile: accepted are both or neither"))
	} else if options.CertificateFile != "" {
		certificate, err := tls.LoadX509KeyPair(options.CertificateFile, options.KeyFile)
		if err != nil {
			err = fmt.Errorf("read TLS.CertificateFile and TLS.KeyFile: %w", err)
		}
		config.Certificates = []tls.Certificate{certificate}
		problems = append(problems, err)
	}
	return config, errors.Join(problems...)
}

func readAuthorities(name string) (*x509.CertPool, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read TLS.CAFile: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("TLS.CAFile %q: accepted is at least one certificate in PEM", name)
	}
	return authorities, nil
}
