// SPDX-License-Identifier: MIT

package api

import "github.com/labstack/echo/v4"

func (s *service) chatCompletion(c echo.Context) error {
	g, err := s.readChat(c)
	if err != nil {
		return err
	}
	return s.answer(c, g, chatShape{newHeads("chatcmpl-", s.Model.Name)})
}

// readChat turns the body of a chat completion into a generation.
func (s *service) readChat(c echo.Context) (generation, error) {
	body, err := read(c)
	if err != nil {
		return generation{}, err
	}
	return s.parseChat(c.Request().Context(), s.callerOf(c), body)
}

func (s *service) textCompletion(c echo.Context) error {
	body, err := read(c)
	if err != nil {
		return err
	}
	g, err := s.parseText(c.Request().Context(), s.callerOf(c), body)
	if err != nil {
		return err
	}
	return s.answer(c, g, textShape{newHeads("cmpl-", s.Model.Name)})
}

func (s *service) nativeCompletion(c echo.Context) error {
	body, err := read(c)
	if err != nil {
		return err
	}
	g, tokens, err := s.parseNative(c.Request().Context(), s.callerOf(c), body)
	if err != nil {
		return err
	}
	return s.answer(c, g, nativeShape{model: s.Model.Name, tokens: tokens})
}

func (s *service) embeddings(echo.Context) error {
	return unsupported("model", "embeddings are not supported by this server")
}
