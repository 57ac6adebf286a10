// SPDX-License-Identifier: MIT

package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/refusal"
)

// modelBody names a model, as the routes of llama-server's router have it.
type modelBody struct {
	Model string `json:"model"`
}

func readModel(c echo.Context) (string, error) {
	var body modelBody
	if err := wire.ReadJSON(c, &body); err != nil {
		return "", err
	}
	if body.Model == "" {
		return "", refusal.Invalid("model", "model is missing; GET /v1/models lists the names")
	}
	return body.Model, nil
}

// loadModel is POST /models/load: it answers when the model is loaded.
func (s *service) loadModel(c echo.Context) error {
	name, err := readModel(c)
	if err != nil {
		return err
	}
	_, release, err := s.Models.Use(c.Request().Context(), name)
	if err != nil {
		return err
	}
	release()
	return c.JSON(http.StatusOK, map[string]bool{"success": true})
}

// unloadModel is POST /models/unload.
func (s *service) unloadModel(c echo.Context) error {
	name, err := readModel(c)
	if err != nil {
		return err
	}
	if err := s.Models.Unload(name); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]bool{"success": true})
}
